// SPDX-License-Identifier: Apache-2.0
// main of every test program: doctest's own, which also refuses a run that tests nothing.

#define DOCTEST_CONFIG_IMPLEMENT
#include <support/skip.hpp>

#include <doctest/doctest.h>

#include <cstdio>

namespace {

unsigned test_cases_run = 0;
unsigned empty_test_cases = 0;

/// Counts what ran, and names each test case that asserted nothing.
struct NothingTested : doctest::IReporter {
  explicit NothingTested(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData& test_case) override {
    name_ = test_case.m_name;
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    ++test_cases_run;
    if (stats.numAssertsCurrentTest == 0 && vccl::test::skip_reason.empty()) {
      ++empty_test_cases;
      std::printf("ERROR: test case \"%s\" asserts nothing\n", name_);
    }
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  const char* name_ = "";
};

DOCTEST_REGISTER_LISTENER("nothing_tested", 1, NothingTested);

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (context.shouldExit() || status != 0) return status;
  if (test_cases_run == 0) {
    std::puts("ERROR: no test case matched");
    return 3;
  }
  if (empty_test_cases != 0) return 4;
  if (!vccl::test::skip_reason.empty()) {
    std::printf("SKIPPED: %s\n", vccl::test::skip_reason.c_str());
    return 77;
  }
  return 0;
}
