/**
 * Removes the classes of Node's HTTP client, which a program without a network never needs. The SDK asks whether they exist, and Node
 * loads the client then, with HTTP/2, TLS and cryptography: that is a fifth of the start of a sandbox, and again of each thread.
 */
for (const name of ['fetch', 'Headers', 'Request', 'Response']) Reflect.deleteProperty(globalThis, name)
