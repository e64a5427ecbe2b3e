// Carries open descriptors between a test's processes, as programs do it: in messages of a socket.
#pragma once

namespace gpusim {

// Make it before the processes fork.
class DescriptorPipe {
  public:
    DescriptorPipe();
    ~DescriptorPipe();
    DescriptorPipe(const DescriptorPipe&) = delete;
    DescriptorPipe& operator=(const DescriptorPipe&) = delete;

    void send(int fd);
    // A copy of the next one; the caller closes it. Waits.
    int receive();

  private:
    int ends_[2];
};

}  // namespace gpusim
