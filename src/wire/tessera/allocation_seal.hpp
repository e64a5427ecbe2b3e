// The signature of the pod annotation tessera.dev/allocation, in an annotation of its own. It
// distinguishes what the controller wrote from what a tenant wrote or copied. HMAC-SHA256 (RFC
// 2104, FIPS 198-1) over the allocation's text, which names the pod's uid and its node, with a key
// that only the controller and the agents read. Format: docs/formats/allocation.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "domain/dialect/dialect.hpp"

namespace tessera {

// Immutable; any thread may use it.
class AllocationSeal {
  public:
    // Reads the key file: a key of 32 to 128 bytes in hexadecimal on each line, at most four. Empty
    // lines and lines that begin with # are skipped. The first key signs, and all keys are
    // accepted, so a key can be replaced while the old one is still in use. invalid_argument names
    // the line, never the key.
    static Result<AllocationSeal> from_keys(std::string_view text);

    // The value of the annotation tessera.dev/allocation-mac.
    [[nodiscard]] std::string sign(std::string_view allocation) const;
    // Takes the same time however much of `mac` is right.
    [[nodiscard]] bool is_ours(std::string_view allocation, std::string_view mac) const;

  private:
    std::vector<std::string> keys_;  // bytes; at least one
};

// Reads the allocation from a pod's annotations. With a seal, permission_denied for a text that the
// seal has not signed; otherwise as read_allocation.
Result<Allocation> read_sealed_allocation(std::string_view allocation,
                                          std::optional<std::string_view> mac,
                                          const AllocationSeal* seal,
                                          const Dialects& dialects = all_dialects());

}  // namespace tessera
