import { readFile } from 'node:fs/promises'
import { readKey } from '@nodekeep/login-siwe/client'
import { SyncFailure } from '../sync-failure.ts'

/** Reads the private key of a wallet from a file. No message shows what is in the file. */
export async function keyOfWallet(file: string): Promise<Uint8Array> {
  const text = await readFile(file, 'utf8').catch(({ message }: Error) => refuse(file, message))
  return readKey(text) ?? refuse(file, 'It must contain a private key of 64 hexadecimal digits.')
}

function refuse(file: string, reason: string): never {
  throw new SyncFailure('stop', `${file} cannot be used as the key of a wallet. ${reason}`)
}
