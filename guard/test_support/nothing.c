/* A program that does nothing. Built with a sanitizer, it looks up much of libc before main. */
int main(void) { return 0; }
