struct twice {
    int x;
};
