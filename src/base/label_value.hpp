// Values of Kubernetes labels. Source: docs "Labels and Selectors", syntax and character set.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// 1 to 63 letters, digits, '-', '_' and '.', of which the first and the last are letters or digits.
// (Kubernetes also allows an empty value.)
bool is_label_value(std::string_view text);

// `text` as a value: other characters become '-', and what is too long or may not stand at the ends
// is cut. Empty if nothing is left.
std::string as_label_value(std::string_view text);

}  // namespace tessera
