import { createRequire } from 'node:module'
import { NodekeepError } from '@nodekeep/plugin-sdk'

const require = createRequire(import.meta.url)

/** Loads the library of age at its first use: it takes 3 MB of memory, which a node without encrypted backups never needs. */
const age = (): typeof import('age-encryption') => require('age-encryption')

/** A pair of keys in the age format (https://age-encryption.org/v1). */
interface RecoveryKey {
  /** The public half, `age1…`. Backups are encrypted to it. */
  readonly recipient: string
  /** The secret half, `AGE-SECRET-KEY-1…`. It opens these backups. */
  readonly identity: string
}

const identityStart = 'AGE-SECRET-KEY-1'
const identityLength = 74

/** Makes a new key. It is of the kind X25519, which all versions of the program `age` open. */
export async function generateKey(): Promise<RecoveryKey> {
  const { generateX25519Identity, identityToRecipient } = age()
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}

/**
 * Returns why backups cannot be encrypted to a recipient, as the rest of a sentence that does not show it; `null` if they can.
 * Recipients of hardware (`age1tag1…`) and of other plugins of age are refused: a restore could not open the backup.
 */
export function recipientProblem(recipient: string): string | null {
  if (isSecretKey(recipient))
    return 'is a secret key. Use its public half, which begins with age1, and keep the secret one elsewhere.'
  if (!recipient.startsWith('age1'))
    return 'is no recipient of age, which begins with age1. `nodekeep backup key` makes one.'
  if (recipient.startsWith('age1tag'))
    return 'belongs to a device, which a restore cannot ask. `nodekeep backup key` makes another one.'
  const { Encrypter } = age()
  try {
    new Encrypter().addRecipient(recipient)
    return null
  } catch {
    return 'is incomplete or has a typing error. Copy it again.'
  }
}

/** @throws NodekeepError VALIDATION_ERROR that names the recipient, unless it is a secret key */
export function checkRecipient(recipient: string): void {
  const problem = recipientProblem(recipient)
  if (problem === null) return
  const name = isSecretKey(recipient) ? 'One of the recipients' : `The recipient "${recipient.slice(0, 100)}"`
  throw new NodekeepError('VALIDATION_ERROR', `${name} ${problem}`)
}

function isSecretKey(recipient: string): boolean {
  return /^AGE-SECRET-KEY/i.test(recipient)
}

/**
 * Reads the secret half of a recovery key as a person gives it: typed in groups, in lower case, or as the file that
 * `age-keygen` writes. Messages never contain the key.
 *
 * @returns the identity in its usual form
 * @throws NodekeepError VALIDATION_ERROR
 */
export async function parseIdentity(text: string): Promise<string> {
  const lines = text.split('\n').filter((line) => !line.trimStart().startsWith('#'))
  const identity = lines.join('').replace(/\s/g, '').toUpperCase()
  const refuse = (message: string) => new NodekeepError('VALIDATION_ERROR', message)
  if (identity.startsWith('AGE1')) {
    throw refuse(
      'This is the public half of a recovery key. A backup opens with the secret half, which begins with AGE-SECRET-KEY-1.',
    )
  }
  const isHybrid = identity.startsWith('AGE-SECRET-KEY-PQ-1')
  if (!identity.startsWith(identityStart) && !isHybrid) {
    throw refuse(`A recovery key begins with ${identityStart}. Enter it whole, from its first letter.`)
  }
  if (!isHybrid && identity.length !== identityLength) {
    const what = identity.length < identityLength ? 'incomplete' : 'too long'
    throw refuse(
      `The recovery key is ${what}: it has ${identity.length} characters instead of ${identityLength}.`,
    )
  }
  const odd = isHybrid ? null : /[^02-9AC-HJ-NP-Z]/.exec(identity.slice(identityStart.length))
  if (odd !== null) {
    throw refuse(
      `The recovery key has a typing error at character ${identityStart.length + odd.index + 1}: no key has the character "${odd[0]}" there.`,
    )
  }
  const { identityToRecipient } = age()
  try {
    await identityToRecipient(identity)
    return identity
  } catch {
    throw refuse(
      'The recovery key has a typing error: its last characters, a checksum, do not fit the others. Compare it character by character.',
    )
  }
}
