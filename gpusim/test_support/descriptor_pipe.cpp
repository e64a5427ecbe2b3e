#include "gpusim/test_support/descriptor_pipe.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace gpusim {
namespace {

struct Message {
    Message() {
        header.msg_iov = &text;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = sizeof control;
    }

    cmsghdr* part() { return reinterpret_cast<cmsghdr*>(control); }

    char byte = 'x';
    iovec text = {&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
};

}  // namespace

DescriptorPipe::DescriptorPipe() {
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends_) != 0) throw std::runtime_error("socketpair");
}

DescriptorPipe::~DescriptorPipe() {
    close(ends_[0]);
    close(ends_[1]);
}

bool DescriptorPipe::send(int fd, int flags) {
    Message message;
    cmsghdr* part = message.part();
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
    return sendmsg(ends_[0], &message.header, flags) == 1;
}

int DescriptorPipe::receive(int flags) {
    Message message;
    if (recvmsg(ends_[1], &message.header, flags) != 1) return -1;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(message.part()), sizeof fd);
    return fd;
}

void DescriptorPipe::send(int fd) {
    if (!send(fd, 0)) throw std::runtime_error("sendmsg");
}

int DescriptorPipe::receive() {
    const int fd = receive(0);
    if (fd < 0) throw std::runtime_error("recvmsg");
    return fd;
}

bool DescriptorPipe::try_send(int fd) {
    return send(fd, MSG_DONTWAIT);
}

int DescriptorPipe::try_receive() {
    return receive(MSG_DONTWAIT);
}

}  // namespace gpusim
