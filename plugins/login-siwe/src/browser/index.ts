/**
 * For authors of clients: makes the message, the `uuid` and the `token` of a sign-in with an Ethereum wallet. It uses no
 * functions of Node and runs in browsers, too.
 */
export { type NonceAnswer, type SiweCredentials, type SiweOptions, siweCredentials } from './credentials.ts'
export { checksumAddress, siweMessage } from './message.ts'
