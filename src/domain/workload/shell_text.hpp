// Texts for a shell and for kubelet, which expands $(NAME) in a container's command.
#pragma once

#include <string>
#include <string_view>

namespace tessera::workload {

// `text` as one word of a POSIX shell.
std::string shell_quoted(std::string_view text);

// `text` such that kubelet passes it on unchanged: kubelet makes "$" of "$$", and replaces $(NAME)
// if the container has such a variable. Source: Kubernetes docs, "Define Dependent Environment
// Variables".
std::string unexpanded(std::string_view text);

// The words of a command line as one text that a shell splits into the same words; for people, too:
// words that need no quotes have none.
std::string shell_line(const auto& words) {
    std::string out;
    for (const std::string& word : words)
        out += (out.empty() ? "" : " ") + shell_quoted(word);
    return out;
}

}  // namespace tessera::workload
