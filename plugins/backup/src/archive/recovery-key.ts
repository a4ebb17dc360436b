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
 * Checks a recipient. Those of hardware (`age1tag1…`) and of other plugins of age are refused: a restore could not open
 * the backup.
 *
 * @throws NodekeepError VALIDATION_ERROR that names it
 */
export function checkRecipient(recipient: string): void {
  const refuse = (why: string) =>
    new NodekeepError('VALIDATION_ERROR', `The recipient "${recipient.slice(0, 100)}" ${why}`)
  if (/^AGE-SECRET-KEY/i.test(recipient)) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'One of the recipients is a secret key. Use its public half, which begins with age1, and keep the secret one elsewhere.',
    )
  }
  if (!recipient.startsWith('age1')) throw refuse('is not valid: it must begin with age1.')
  if (recipient.startsWith('age1tag')) throw refuse('belongs to a device, which a restore cannot ask.')
  const { Encrypter } = age()
  try {
    new Encrypter().addRecipient(recipient)
  } catch {
    throw refuse('is not valid: it is incomplete or has a typing error. Copy it again.')
  }
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
