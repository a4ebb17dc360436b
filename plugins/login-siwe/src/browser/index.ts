/**
 * For authors of clients: makes the message, the `uuid` and the `token` of a sign-in with an Ethereum wallet, and signs with a private
 * key. It uses no functions of Node and runs in browsers, too.
 */
export { type NonceAnswer, type SiweCredentials, type SiweOptions, siweCredentials } from './credentials.ts'
export { addressOf, newKey, readKey, signText, textOfKey } from './ethereum-key.ts'
export { checksumAddress, siweMessage } from './message.ts'
