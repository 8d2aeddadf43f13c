// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Files in pieces, and their SHA-256.

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace demo {

/// An open file. Throws UsageError, with `option` in front, when it cannot be opened.
class File {
 public:
  [[nodiscard]] static File open_to_read(std::string const& name, std::string const& option = "");
  /// Makes the file if there is none; what is in it stays until make_empty().
  [[nodiscard]] static File open_to_write(std::string const& name, std::string const& option);

  File() noexcept = default;
  File(File&& other) noexcept : fd_{std::exchange(other.fd_, -1)}, size_{other.size_} {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~File();

  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  /// Bytes, when it was opened to be read.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// All of `into`, or false: an error, or the file has become shorter.
  [[nodiscard]] bool read(std::span<std::byte> into, std::uint64_t offset) const noexcept;
  /// False: an error, errno says which, here and below. Devices need no emptying.
  [[nodiscard]] bool make_empty() const noexcept;
  [[nodiscard]] bool write(std::span<std::byte const> bytes) const noexcept;

 private:
  explicit File(int fd) noexcept : fd_{fd} {}
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// The largest readable regular file below a folder of at most `most` bytes. Throws UsageError when
/// there is none.
[[nodiscard]] std::string largest_file(std::string const& folder, std::uint64_t most);

class Sha256 {
 public:
  Sha256();
  void add(std::span<std::byte const> bytes);
  /// In hexadecimal; once.
  [[nodiscard]] std::string finish();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* c) const noexcept { EVP_MD_CTX_free(c); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace demo
