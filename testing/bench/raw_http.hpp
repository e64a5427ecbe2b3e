// Plain HTTP/1.1 over a loopback socket, with so little work that a benchmark times the server.
#pragma once

#include <string>
#include <string_view>

namespace tessera::bench {

// A connected loopback socket that reads and writes whole messages. Failures end the benchmark.
class Wire {
  public:
    explicit Wire(int fd) : fd_(fd) {}
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    ~Wire();

    void send(std::string_view bytes) const;
    // Header and body of the next message (with Content-Length or without a body). Empty if the
    // peer closed the connection.
    struct Message {
        std::string head;
        std::string body;
    };
    Message receive();

  private:
    int fd_;
    std::string rest_;
};

// Port of a listening loopback socket, and the socket.
struct Listener {
    int fd = -1;
    int port = 0;
};
Listener listen_anywhere();
int accept_from(const Listener& listener);
int connect_to(int port);
// A port that is free at this moment.
int free_port();

// The bytes of a request, which accepts gzip as Go's clients do, and of a response.
std::string post(std::string_view path, std::string_view body);
std::string get(std::string_view path);
std::string answer(int status, std::string_view body);

}  // namespace tessera::bench
