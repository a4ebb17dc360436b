import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { messageOf, type NodeIdentity } from '@nodekeep/plugin-sdk'
import { syncFolderSync } from '@nodekeep/plugin-sdk/durable-files'
import { base58 } from '@scure/base'

/**
 * The identity of the node with this data folder. The key is PKCS#8 (RFC 8410) as PEM, so that other programs can read it. It
 * is read or made at its first use: a node whose plugins have no use for it starts whatever the state of the file is.
 */
export function createNodeIdentity(dataFolder: string): NodeIdentity {
  let loaded: Identity | undefined
  const identity = (): Identity => {
    loaded ??= loadIdentity(join(dataFolder, 'identity'))
    return loaded
  }
  return {
    get nodeId() {
      return identity().nodeId
    },
    get did() {
      return `did:overlay:${identity().nodeId}`
    },
    get publicKey() {
      return Uint8Array.from(identity().publicKey)
    },
    sign: (bytes) => new Uint8Array(sign(null, bytes, identity().key)),
    privateKey: () => identity().key.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}

interface Identity {
  readonly key: KeyObject
  readonly publicKey: Uint8Array
  readonly nodeId: string
}

/** @throws Error with a sentence for people */
function loadIdentity(folder: string): Identity {
  const file = join(folder, 'node.key')
  const key = readKey(file) ?? makeKey(folder, file)
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  const publicKey = Buffer.from(x, 'base64url')
  return { key, publicKey, nodeId: base58.encode(publicKey) }
}

/** Returns `null` if there is no key yet. */
function readKey(file: string): KeyObject | null {
  const pem = readPrivateFile(file)
  if (pem === null) return null
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The message of OpenSSL does not help people, and may quote the file.
  }
  throw new Error(
    `The identity of the node is damaged: ${file} is not an Ed25519 key. Restore the file from a backup. To begin with a new identity, move it away.`,
  )
}

function readPrivateFile(file: string): string | null {
  let descriptor: number
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    const reason = code === 'ELOOP' ? 'it is a link' : messageOf(error)
    throw new Error(`The identity of the node in ${file} cannot be read: ${reason}.`, { cause: error })
  }
  try {
    const { mode } = fstatSync(descriptor)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Error(
        `Other accounts of this machine may read the node's identity. Run: chmod 600 "${file}". If they are not trusted, move the file away instead, to begin with a new identity.`,
      )
    }
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}

/** Makes a key that is whole and on the disk before it has its name. A key that is there already stays. */
function makeKey(folder: string, file: string): KeyObject {
  const { privateKey } = generateKeyPairSync('ed25519')
  const unfinished = `${file}.new`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    rmSync(unfinished, { force: true })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
    writeFileSync(unfinished, pem, { flag: 'wx', mode: 0o600, flush: true })
    linkSync(unfinished, file)
    rmSync(unfinished)
    for (const changed of [folder, join(folder, '..')]) syncFolderSync(changed)
  } catch (error) {
    throw new Error(
      `The identity of the node cannot be stored in ${folder}: ${messageOf(error)}. Give the node's user write access to the data folder, on a disk that keeps permissions.`,
      { cause: error },
    )
  }
  // The disk may not have kept the permissions.
  return readKey(file) ?? privateKey
}
