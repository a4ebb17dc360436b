import { ReadableStream } from 'node:stream/web'
import { ArchiveError } from '@nodekeep/plugin-sdk/archive'
import { Decrypter, Encrypter } from 'age-encryption'

/** Encrypts a stream in the age format (https://age-encryption.org/v1). The recipients are checked. */
export async function* encrypted(
  source: AsyncIterable<Uint8Array>,
  recipients: readonly string[],
): AsyncGenerator<Uint8Array, void, undefined> {
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  yield* await encrypter.encrypt(streamOf(source))
}

/**
 * Decrypts a stream.
 *
 * @param identities that are checked
 * @throws ArchiveError when no identity fits or the stream is damaged; errors of the source
 */
export async function* decrypted(
  source: AsyncIterable<Uint8Array>,
  identities: readonly string[],
): AsyncGenerator<Uint8Array, void, undefined> {
  const decrypter = new Decrypter()
  for (const identity of identities) decrypter.addIdentity(identity)
  let failure: { readonly error: unknown } | null = null
  async function* watched() {
    try {
      yield* source
    } catch (error) {
      failure = { error }
      throw error
    }
  }
  try {
    yield* await decrypter.decrypt(streamOf(watched()))
  } catch (error) {
    if (failure !== null) throw (failure as { error: unknown }).error
    const isOtherKey = error instanceof Error && error.message.startsWith('no identity matched')
    throw new ArchiveError(
      isOtherKey
        ? 'was encrypted for another recovery key than the one that was given'
        : 'is damaged or cut short: its encrypted part cannot be read',
    )
  }
}

function streamOf(source: AsyncIterable<Uint8Array>): globalThis.ReadableStream<Uint8Array> {
  return ReadableStream.from(source) as globalThis.ReadableStream<Uint8Array>
}
