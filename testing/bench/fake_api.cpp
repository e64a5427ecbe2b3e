#include "testing/bench/fake_api.hpp"

namespace tessera::bench {

FakeApi::FakeApi(const ClusterText& text) : text_(text), listener_(listen_anywhere()) {
    std::thread([this] {
        for (int fd = 0; (fd = accept_from(listener_)) >= 0;) {
            std::thread([this, fd] { serve(fd); }).detach();
        }
    }).detach();
}

void FakeApi::serve(int fd) {
    Wire wire(fd);
    while (true) {
        const Wire::Message request = wire.receive();
        if (request.head.empty()) return;
        const std::string line = request.head.substr(0, request.head.find("\r\n"));
        if (line.find("watch=1") != std::string::npos) {
            wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            wire.receive();  // until the other side closes
            return;
        }
        wire.send(reply(line, request.body));
    }
}

std::string FakeApi::reply(const std::string& line, const std::string& body) {
    if (line.starts_with("POST /floor")) return answer(200, body);
    if (line.find("/secrets") != std::string::npos) return reply_of_secrets(line, body);
    if (line.starts_with("POST")) return answer(201, "{}");
    const std::size_t at = line.find("continue=");
    const std::size_t first = at == std::string::npos ? 0 : std::stoul(line.substr(at + 9));
    if (line.starts_with("GET /api/v1/nodes")) {
        return answer(200, list_page("NodeList", text_.nodes, first, 500));
    }
    if (line.starts_with("GET /api/v1/pods")) {
        return answer(200, list_page("PodList", text_.pods, first, 500));
    }
    // GET /api/v1/namespaces/default/pods/NAME: the uid is made of the name.
    const std::size_t begin = line.rfind('/', line.rfind(" HTTP")) + 1;
    const std::string name = line.substr(begin, line.rfind(' ') - begin);
    return answer(200, pending_pod(name, "uid-" + name, 3));
}

std::string FakeApi::reply_of_secrets(const std::string& line, const std::string& body) {
    const MutexLock lock(mutex_);
    if (!line.starts_with("GET")) secret_ = body;
    return secret_.empty() ? answer(404, "{}") : answer(200, secret_);
}

}  // namespace tessera::bench
