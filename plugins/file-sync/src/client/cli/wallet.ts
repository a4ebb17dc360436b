import { readFile } from 'node:fs/promises'
import { Wallet } from 'ethers'
import { SyncFailure } from '../sync-failure.ts'

/** Reads the private key of a wallet from a file. The errors of the library would show what is in the file. */
export async function walletOf(file: string): Promise<Wallet> {
  try {
    return new Wallet((await readFile(file, 'utf8')).trim())
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code?.startsWith('E') ? message : 'It must contain a private key of 64 hexadecimal digits.'
    throw new SyncFailure('stop', `${file} cannot be used as the key of a wallet. ${reason}`)
  }
}
