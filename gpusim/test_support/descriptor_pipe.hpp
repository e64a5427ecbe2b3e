// Carries open descriptors between a test's processes, as programs do it: in messages of a socket.
#pragma once

namespace gpusim {

// Create it before the processes fork.
class DescriptorPipe {
  public:
    DescriptorPipe();
    ~DescriptorPipe();
    DescriptorPipe(const DescriptorPipe&) = delete;
    DescriptorPipe& operator=(const DescriptorPipe&) = delete;

    void send(int fd);
    // A copy of the next descriptor; the caller closes it. Blocks.
    int receive();
    // The same without blocking: false if it is full, -1 if it is empty.
    bool try_send(int fd);
    int try_receive();

  private:
    bool send(int fd, int flags);
    int receive(int flags);

    int ends_[2];
};

}  // namespace gpusim
