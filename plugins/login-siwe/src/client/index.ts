/**
 * For authors of clients: makes the message, the `uuid` and the `token` of a sign-in with an Ethereum wallet. It
 * needs nothing but the language and runs in browsers as well as in Node.
 */
export { checksumAddress } from './checksum-address.ts'
export { type NonceAnswer, type SiweCredentials, type SiweOptions, siweCredentials } from './credentials.ts'
export { siweMessage } from './message.ts'
