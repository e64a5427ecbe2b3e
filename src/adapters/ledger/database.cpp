#include "adapters/ledger/database.hpp"

#include <algorithm>

namespace tessera {

std::string one_line(const soci::soci_error& error) {
    std::string text = error.get_error_message();
    std::ranges::replace(text, '\n', ' ');
    text.erase(text.find_last_not_of(" .") + 1);
    return text;
}

}  // namespace tessera
