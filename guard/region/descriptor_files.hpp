// Whether a descriptor of exported memory is open still, in whatever process, or on its way in a
// socket: its name (named_descriptor.hpp) is a lock, and whether there is such a lock anybody can
// ask through another open file of the same. So the region knows the path of that file.
//
// Any thread of any process of the container.
#pragma once

#include <optional>

#include "guard/region/layout.hpp"
#include "guard/region/mapping.hpp"

namespace tessera::guard {

// What the region calls the file of a descriptor: 1 or more. 0: it cannot be opened by a path, or
// there are too many.
int file_of(Accounts& accounts, int fd);
// Whether it calls that file so.
bool is_of_file(const Accounts& accounts, int file, int fd);

// Asks, and keeps the file open for the next question.
class DescriptorAsker {
  public:
    explicit DescriptorAsker(const Accounts& accounts) : accounts_(accounts) {}

    // Whether one of that file has a name with that key. True as well where nobody can tell: the
    // path is not there for this process, or is another file's.
    bool may_be_open(int file, std::uint64_t key);

  private:
    const Accounts& accounts_;
    int number_ = 0;  // of the file that is open
    std::optional<Opened> opened_;
};

}  // namespace tessera::guard
