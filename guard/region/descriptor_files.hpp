// Tells whether a descriptor of exported memory is still open in any process, or on its way in a
// socket. The descriptor's name (named_descriptor.hpp) is a lock on its open file. Any process can
// ask for that lock through another open file of the same file, so the region stores the path of
// that file.
//
// Any thread of any process of the container may use this.
#pragma once

#include <optional>

#include "guard/region/layout.hpp"
#include "guard/region/mapping.hpp"

namespace tessera::guard {

// The number by which the region knows the descriptor's file: 1 or more. 0 if the file cannot be
// opened by a path, or if there are too many files.
int file_of(Accounts& accounts, int fd);
// Whether `file` is the number of the descriptor's file.
bool is_of_file(const Accounts& accounts, int file, int fd);

// Asks, and keeps the file open for the next question.
class DescriptorAsker {
  public:
    explicit DescriptorAsker(const Accounts& accounts) : accounts_(accounts) {}

    // Whether an open file of that file has a name with that key. Also true if this cannot be found
    // out: the path does not exist for this process, or it is another file's.
    bool may_be_open(int file, std::uint64_t key);

  private:
    const Accounts& accounts_;
    int number_ = 0;  // of the file that is open
    std::optional<Opened> opened_;
};

}  // namespace tessera::guard
