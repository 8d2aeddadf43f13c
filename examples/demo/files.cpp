// SPDX-License-Identifier: Apache-2.0
#include <demo/files.hpp>

#include <demo/options.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace demo {

File File::open_to_read(std::string const& name, std::string const& option) {
  File f{::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info{};
  if (!f.is_open() || ::fstat(f.fd_, &info) != 0)
    throw UsageError{fmt::format("{}cannot read {}: {}; name a file that you may read", option,
                                 name, std::strerror(errno))};
  if (!S_ISREG(info.st_mode))
    throw UsageError{fmt::format("{}cannot read {}: not a regular file; name one", option, name)};
  f.size_ = static_cast<std::uint64_t>(info.st_size);
  return f;
}

File File::open_to_write(std::string const& name, std::string const& option) {
  File f{::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)};
  if (!f.is_open())
    throw UsageError{fmt::format("{}cannot write {}: {}; name a file that you may write", option,
                                 name, std::strerror(errno))};
  return f;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

bool File::read(std::span<std::byte> into, std::uint64_t offset) const noexcept {
  while (!into.empty()) {
    ssize_t const n = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

bool File::make_empty() const noexcept { return ::ftruncate(fd_, 0) == 0 || errno == EINVAL; }

bool File::write(std::span<std::byte const> bytes) const noexcept {
  while (!bytes.empty()) {
    ssize_t const n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

std::string largest_file(std::string const& folder, std::uint64_t most) {
  namespace fs = std::filesystem;
  std::string best;
  std::uintmax_t largest = 0;
  std::error_code e;
  auto const skip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator i{folder, skip, e}, end; !e && i != end; i.increment(e)) {
    std::error_code ignored;
    if (i->is_symlink(ignored) || !i->is_regular_file(ignored)) continue;
    std::uintmax_t const size = i->file_size(ignored);
    if (ignored || size <= largest || size > most) continue;
    if (::access(i->path().c_str(), R_OK) != 0) continue;
    largest = size;
    best = i->path().string();
  }
  if (best.empty())
    throw UsageError{fmt::format("no readable file under {}; name a FILE to copy", folder)};
  return best;
}

// OpenSSL refuses these calls only when it has no memory or no SHA-256.
Sha256::Sha256() : context_{EVP_MD_CTX_new()} {
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw std::runtime_error{"OpenSSL has no SHA-256"};
}

void Sha256::add(std::span<std::byte const> bytes) {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1)
    throw std::runtime_error{"SHA-256 failed"};
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int n = 0;
  if (EVP_DigestFinal_ex(context_.get(), digest.data(), &n) != 1)
    throw std::runtime_error{"SHA-256 failed"};
  std::string hex;
  for (unsigned int i = 0; i < n; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace demo
