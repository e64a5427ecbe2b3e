// The GPU shares that a pod's user requests for its containers, and the refusal: the pod
// annotations tessera.dev/resize-request and tessera.dev/resize-refused. Grammar:
// docs/formats/resize.md.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/allocation/resize.hpp"

namespace tessera {

// invalid_argument names the member and says what to write; unsupported for a version newer than
// ours.
Result<RequestedShares> read_resize_request(std::string_view text);

// `id` distinguishes a request from an earlier one with the same amounts, which may have been
// refused.
std::string write_resize_request(const RequestedShares& requested, std::string_view id);

// The annotation that refuses this request, whose text may have any length.
std::string write_resize_refusal(std::string_view requested, const Error& reason);

// Whether `refusal` answers exactly this request. Both may be any text.
bool is_refusal_of(std::string_view refusal, std::string_view requested);

// The reason in a refusal, with its code. invalid_argument for a text that is not a refusal.
Error read_resize_refusal(std::string_view refusal);

}  // namespace tessera
