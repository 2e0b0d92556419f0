/* Its tag is taken. */
struct twice {
    int y;
};
