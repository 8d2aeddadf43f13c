// SPDX-License-Identifier: Apache-2.0
#pragma once
/// @file
/// Types that are wrong in exactly one way, to show what a concept asks for.

#include <doctest/doctest.h>

/// Defines Name, the archetype of Role but for the members that follow, and a test case: with the
/// archetype as positive control, Name breaks Requirement, nothing else, and so is no Role.
/// The file defines broken_requirements<T>(), the number of requirements of Role that T breaks.
#define VCCL_ONE_FAULT(Role, Requirement, Name, ...)                \
  struct Name : ::vccl::archetype::Role {                           \
    using ::vccl::archetype::Role::Role;                            \
    __VA_ARGS__                                                     \
  };                                                                \
  TEST_CASE(#Name " is no " #Role ", as it breaks " #Requirement) { \
    CHECK((::vccl::Requirement<::vccl::archetype::Role>));          \
    CHECK((::vccl::Role<::vccl::archetype::Role>));                 \
    CHECK_FALSE((::vccl::Requirement<Name>));                       \
    CHECK_FALSE((::vccl::Role<Name>));                              \
    CHECK(broken_requirements<::vccl::archetype::Role>() == 0);     \
    CHECK(broken_requirements<Name>() == 1);                        \
  }                                                                 \
  static_assert(true)
