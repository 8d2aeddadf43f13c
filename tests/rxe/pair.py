# SPDX-License-Identifier: Apache-2.0
"""A connection of the library in the lab: a worker in each host, what they tell, and what must be so at the end."""

import json
import os
import shlex
import shutil

from checks import expect

WORKER = os.environ.get("VCCL_RXE_WORKER", "build/release/tests/rxe/programs/rxe_worker")
LIMIT = 60  # seconds that anything waited for may take
NAMES = ("sender", "receiver")


class End:
    """One worker, and the lines that it has printed up to now."""

    def __init__(self, name, host, job):
        self.name, self.host, self.job = name, host, job
        self.lines, self.read = [], 0

    def look(self):
        """Takes in the whole lines beyond what was read."""
        fresh = self.job.output_from(self.read)
        fresh = fresh[: fresh.rfind(b"\n") + 1]
        self.read += len(fresh)
        for line in fresh.decode(errors="replace").splitlines():
            try:
                self.lines.append(json.loads(line))
            except json.JSONDecodeError:
                self.lines.append({"event": "text", "text": line})
        return self.lines

    def all(self, event):
        return [line for line in self.look() if line.get("event") == event]

    def last(self, event):
        return next(iter(self.all(event)[-1:]), None)

    def says(self):
        """What it has to say when something is not as it should be."""
        final = self.last("final")
        texts = [line["text"] for line in self.all("text")]
        events = [f"{line['event']} {line.get('path', '')} {line.get('cause', '')}".strip()
                  for line in self.look() if line["event"] not in ("position", "text", "final")]  # fmt: skip
        brief = final and {key: final[key] for key in BRIEF}
        return f"{self.name} on host{self.host}: status {self.job.status}, {events}, {brief} {texts}"


BRIEF = ("ok", "problem", "messages", "path", "cause", "failovers", "failbacks", "resent_bytes")


class Pair:
    """Sender and receiver. Data flows from host `source` to the other one, at a rate that leaves the host's processor
    time for other commands."""

    count = 0

    def __init__(self, lab, bundle="quick", source=0, sender="", receiver="", ports="rxe0:1,rxe1:1", both="",
                 limit=120, wrap=("", ""), rate=4_000_000):  # fmt: skip
        Pair.count += 1
        self.lab, self.limit = lab, limit
        self.folder = lab.run / f"pair{Pair.count}"
        self.folder.mkdir()
        self.ports = dict(zip(NAMES, ports if isinstance(ports, tuple) else (ports, ports)))
        self.words = {"sender": f"{both} --rate {rate} {sender}", "receiver": f"{both} {receiver}"}
        self.hosts = {"sender": source, "receiver": 1 - source}
        self.bundle, self.wraps = bundle, dict(zip(NAMES, wrap))
        self.receiver, self.sender = self.start("receiver"), self.start("sender")

    def start(self, name):
        worker = installed(self.lab)
        host = self.hosts[name]
        command = [worker, "--role", name, "--ports", self.ports[name], "--folder", f"/lab/{self.folder.name}"]
        command += ["--bundle", self.bundle, "--oob", f"10.99.0.{host + 1}", "--limit", str(self.limit)]
        script = f"{self.wraps[name] or 'exec nice -n 10'} {shlex.join(command)} {self.words[name]}"
        return End(name, host, self.lab.start(host, script, self.limit + 20))

    @property
    def ends(self):
        return self.sender, self.receiver

    def says(self):
        return "\n".join(end.says() for end in self.ends)

    def until(self, condition, what, limit=LIMIT):
        """Waits; an end that is over meanwhile will not do it any more."""
        self.lab.until(lambda: condition() or self.over(), limit)
        expect(condition(), f"not {what}:\n{self.says()}")

    def over(self):
        return any(end.job.status is not None for end in self.ends)

    def wait_up(self):
        self.until(lambda: all(end.last("up") for end in self.ends), "ready")
        return self

    def received(self):
        last = self.receiver.last("position")
        return last["messages"] if last else 0

    def wait_messages(self, more):
        """Until the receiver has so many more."""
        goal = self.received() + more
        self.until(lambda: self.received() >= goal, f"at message {goal} (but {self.received()})")
        return self

    def count_of(self, event, **members):
        """How often the receiver, which decides, told of an event."""
        return count(self.receiver, event, **members)

    def wait_event(self, event, number=1, limit=LIMIT, **members):
        """Until both ends have told of it so often."""
        self.until(lambda: all(count(end, event, **members) >= number for end in self.ends),
                   f"{event} {members} {number} times", limit)  # fmt: skip
        return self

    def stop(self):
        """The sender sends no more; both ends have everything."""
        (self.folder / "stop").touch()
        return self.wait_done()

    def wait_done(self, *ends):
        self.until(lambda: all(end.last("done") for end in ends or self.ends), "done with all messages")
        return self

    def finish(self, limit=LIMIT):
        """Both ends close. Everything was delivered once and as it was sent, and both say the same."""
        if not self.sender.last("done"):
            self.stop()
        # Before they close: the last words may be lost where they travel on the paths only.
        self.until(lambda: self.agreed() is not None, "of one mind", 20)
        counted = self.agreed()
        (self.folder / "end").touch()
        jobs = [end.job for end in self.ends]
        self.lab.finish(*jobs, limit=limit)
        expect([job.status for job in jobs] == [0, 0], f"an end failed:\n{self.says()}")
        expect(all(end.last("final")["ok"] for end in self.ends), f"not well:\n{self.says()}")
        return Result(self, *counted)

    def agreed(self):
        """What both ends counted, once they have told all of it and it is the same."""
        s, r = (end.last("position") for end in self.ends)
        for end in self.ends:
            if end.last("position")["t"] < max(line.get("t", 0) for line in end.look()):
                return None
        same = all(s[key] == r[key] for key in ("messages", "failovers", "failbacks", "steps", "path", "epoch"))
        return (s, r) if same and s["messages"] > 0 else None

    def fail(self, limit=LIMIT):
        """Both ends end with an error of their own accord, each with a cause and no request left."""
        jobs = [end.job for end in self.ends if end.job.status != "dead"]
        self.lab.until(lambda: all(job.status is not None for job in jobs), limit)
        expect(all(job.status == 1 for job in jobs), f"no clean error within {limit} s:\n{self.says()}")
        s, r = (end.last("final") for end in self.ends)
        for end in self.ends:
            expect(end.last("final") or end.job.status == "dead", f"no last words:\n{self.says()}")
            expect(not end.all("pending"), f"requests are left pending:\n{self.says()}")
        if s and r:  # what was said of sends is true
            least, most = s["messages"] + s["failed_yes"], s["messages"] + s["failed"] - s["failed_no"]
            expect(least <= r["messages"], f"a send was said to be received and is not:\n{self.says()}")
            expect(r["messages"] <= most, f"a send was said not to be received and is:\n{self.says()}")
        return Result(self, s, r)


class Result:
    """What both ends said last, and whether it is what should be."""

    def __init__(self, pair, s, r):
        self.pair, self.s, self.r = pair, s, r

    def expect(self, end="both", **members):
        for name, line in (("sender", self.s), ("receiver", self.r)):
            if end in (name, "both"):
                for key, wanted in members.items():
                    right = wanted(line[key]) if callable(wanted) else line[key] == wanted
                    expect(right, f"{name}: {key} is {line[key]!r}, expected {wanted!r}\n{self.pair.says()}")
        return self

    def still(self):
        """The longest time without a new message at the receiver, in milliseconds; told ten times a second."""
        times, last = [], None
        for line in self.pair.receiver.all("position"):
            if last is None or line["messages"] > last:
                times.append(line["t"])
            last = line["messages"]
        return round(1000 * max((b - a for a, b in zip(times, times[1:])), default=0))

    def lost(self, end, *causes, path=0):
        """Why that end left a path, the last time; one of these."""
        told = [line["cause"] for line in getattr(self.pair, end).all("path_lost") if line["path"] == path]
        expect(told and told[-1] in causes, f"{end}: path {path} was left for {told}, expected {causes}\n{self.pair.says()}")
        return self


def count(end, event, **members):
    return sum(all(line.get(key) == value for key, value in members.items()) for line in end.all(event))


def installed(lab):
    """The worker, as the hosts see it. A copy: they take it that this machine's files do not change."""
    built = lab.home / WORKER
    expect(os.access(built, os.X_OK), f"there is no {built}: build target rxe_worker, preset release")
    name = f"rxe_worker.{built.stat().st_mtime_ns}"
    if not (lab.run / name).exists():
        shutil.copy(built, lab.run / name)
    return f"/lab/{name}"


def struck(lab, number, least=1):
    """The fault really happened."""
    fired = lab.fired(number)
    expect(fired >= least, f"the fault struck {fired} times, expected {least} at least")
    return fired
