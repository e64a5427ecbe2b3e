/* hide_names FILE: sets to 0 the values of the functions that a shared library exports, in place.
 * The loaders of glibc and musl skip names without a value and look in the next library; linkers
 * find them all the same, because they are defined. Run when the facades are built (facade.c). */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char* file, const char* what) {
    fprintf(stderr, "hide_names: %s: %s\n", file, what);
    return 1;
}

/* How many were hidden; 0: there is no table of them. */
static size_t hide(char* image, size_t size) {
    const Elf64_Ehdr* head = (const Elf64_Ehdr*)image;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shoff + (size_t)head->e_shnum * sizeof(Elf64_Shdr) > size)
        return 0;
    const Elf64_Shdr* sections = (const Elf64_Shdr*)(image + head->e_shoff);
    size_t hidden = 0;
    for (int i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_DYNSYM) continue;
        if (sections[i].sh_offset + sections[i].sh_size > size) return 0;
        Elf64_Sym* symbols = (Elf64_Sym*)(image + sections[i].sh_offset);
        for (size_t each = 0; each < sections[i].sh_size / sizeof *symbols; each++) {
            if (ELF64_ST_TYPE(symbols[each].st_info) != STT_FUNC ||
                symbols[each].st_shndx == SHN_UNDEF)
                continue;
            symbols[each].st_value = 0;
            hidden++;
        }
    }
    return hidden;
}

int main(int count, char** arguments) {
    if (count != 2) return fail("usage", "hide_names FILE");
    FILE* file = fopen(arguments[1], "r+b");
    if (file == NULL) return fail(arguments[1], "cannot be opened");
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    char* image = size > 0 ? malloc((size_t)size) : NULL;
    rewind(file);
    if (image == NULL || fread(image, 1, (size_t)size, file) != (size_t)size)
        return fail(arguments[1], "cannot be read");
    if (hide(image, (size_t)size) == 0) return fail(arguments[1], "exports no function");
    rewind(file);
    if (fwrite(image, 1, (size_t)size, file) != (size_t)size || fclose(file) != 0)
        return fail(arguments[1], "cannot be written");
    free(image);
    return 0;
}
