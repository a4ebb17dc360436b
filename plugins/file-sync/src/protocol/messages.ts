import { type Static, type TSchema, Type } from 'typebox'
// The functions of typebox/value are the same, but take twice as many files to load.
import { Check, Errors } from 'typebox/schema'

/** The version of the messages. */
export const protocolVersion = 1

/** Milliseconds within which a client must say hello. */
export const helloMs = 10_000

/** Characters of a message of a client. */
export const longestClientMessage = 4096

/** Changes in one message. */
export const mostChanges = 1000

/** Bytes of a message with changes, unless a single change is larger. */
export const largestChanges = 256 * 1024

/** Bytes of any message of the node. */
export const longestServerMessage = 1024 * 1024

const cursor = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'A position in the changes of the epoch.',
})
const epoch = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'Names the journal that the cursors belong to.',
})
const changeId = Type.String({
  maxLength: 40,
  pattern: '^[\\x21-\\x7e]*$',
  description:
    'The id of the change at the cursor, which tells a history from another one with the same numbers. Empty at cursor 0.',
})
const listing = Type.String({
  minLength: 1,
  maxLength: 40,
  pattern: '^[\\x21-\\x7e]+$',
  description: 'Names a listing of all files.',
})
const device = Type.String({ minLength: 1, maxLength: 100, description: 'The id of the device.' })
const path = Type.String({ description: 'Absolute path, such as "/photos/cat.jpg".' })
const time = Type.String({ format: 'date-time' })

/**
 * The name of a device, for people. It also fits into the header `x-nodekeep-device`, which records it with each change, where `disk`
 * stands for other programs.
 */
const deviceName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^(?!disk$)[\\x20-\\x7e]+$',
  description: 'A name for people, in printable ASCII, but not "disk".',
})

/** The first message of a client. */
const hello = Type.Object({
  type: Type.Literal('hello'),
  protocol: Type.Integer({ description: 'The version of the protocol, 1.' }),
  name: Type.Optional(deviceName),
  device: Type.Optional(device),
  cursor: Type.Optional(cursor),
  epoch: Type.Optional(epoch),
  changeId: Type.Optional(changeId),
  listing: Type.Optional(listing),
})

/** The client has stored everything up to the cursor durably. */
const ack = Type.Object({ type: Type.Literal('ack'), cursor })

/** Asks for a pong. */
const ping = Type.Object({ type: Type.Literal('ping') })

/** The device has stored the listing that a reset has asked for. */
const listed = Type.Object({ type: Type.Literal('listed'), listing })

/** The answer to hello. */
const welcome = Type.Object({
  type: Type.Literal('welcome'),
  protocol: Type.Integer(),
  device: Type.Union([device, Type.Null()], {
    description: 'The device for the next hello; null for a client without a name.',
  }),
  epoch,
  head: Type.Integer({ minimum: 0, description: 'The cursor of the newest change.' }),
  reset: Type.Optional(
    Type.Boolean({ description: 'Whether a reset follows. Until then, the client changes nothing.' }),
  ),
})

/** One change. What it does not tell, a scan of its path finds out. */
const change = Type.Object({
  op: Type.Union([
    Type.Literal('write'),
    Type.Literal('mkdir'),
    Type.Literal('delete'),
    Type.Literal('move'),
  ]),
  path,
  source: Type.Optional(Type.String({ description: 'The former path of a move.' })),
  size: Type.Optional(Type.Integer({ description: 'Bytes of a written file.' })),
  revision: Type.Optional(Type.String({ description: 'The entity tag without its quotes.' })),
  modified: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When the content of the file was modified, if it still has the revision.',
    }),
  ),
  hash: Type.Optional(
    Type.String({
      description: 'SHA-256 of the content, if it is known, and the file still has the revision.',
    }),
  ),
  by: Type.Optional(Type.String({ description: 'The device that made the change, if it gave a name.' })),
  at: time,
})

/** Changes after the cursor of the client, oldest first. The next ones come after the ack of this cursor. */
const changes = Type.Object({
  type: Type.Literal('changes'),
  cursor,
  changeId: Type.Optional(changeId),
  changes: Type.Array(change, { maxItems: mostChanges }),
  head: Type.Integer({ minimum: 0, description: 'The cursor of the newest change.' }),
})

/** The client must list all files. The changes after `head` follow. */
const reset = Type.Object({
  type: Type.Literal('reset'),
  reason: Type.String({
    description:
      '"new": the hello had no cursor; "epoch": the cursor belongs to another journal; "expired": changes after the cursor are no longer kept, or the cursor belongs to another history, as when the node was put back to an older state.',
  }),
  epoch,
  head: cursor,
  changeId: Type.Optional(changeId),
  listing: Type.Optional(listing),
})

/** A mount does not answer, and its open changes hold back later ones. Both are null when that is over. */
const waiting = Type.Object({
  type: Type.Literal('waiting'),
  mount: Type.Union([path, Type.Null()]),
  since: Type.Union([time, Type.Null()]),
})

/** The answer to a ping. */
const pong = Type.Object({ type: Type.Literal('pong') })

/** The reason why the node closes the connection. */
const failure = Type.Object({
  type: Type.Literal('error'),
  error: Type.Object({ code: Type.String(), message: Type.String() }),
})

export const clientMessages = { hello, ack, ping, listed }
export const serverMessages = { welcome, changes, reset, waiting, pong, error: failure }

type Messages<Schemas extends Record<string, TSchema>> = Static<Schemas[keyof Schemas]>

/** A message of a client. */
export type ClientMessage = Messages<typeof clientMessages>

/** A message of the node. */
export type ServerMessage = Messages<typeof serverMessages>

/** A change as messages have it. */
export type WireChange = Static<typeof change>

/**
 * Reads a message of a client. Fields that are not known are ignored.
 *
 * @throws Error with a sentence for the client
 */
export function readClientMessage(text: string): ClientMessage {
  const message = read(clientMessages, text)
  if (message !== null) return message
  throw new Error(`The type of a message must be one of ${Object.keys(clientMessages).join(', ')}.`)
}

/**
 * Reads a message of the node. Fields that are not known are ignored.
 *
 * @returns null for a type that this version does not know, which newer nodes may send
 * @throws Error with a sentence for the log
 */
export function readServerMessage(text: string): ServerMessage | null {
  return read(serverMessages, text)
}

function read<Schemas extends Record<string, TSchema>>(
  schemas: Schemas,
  text: string,
): Messages<Schemas> | null {
  const value = parse(text)
  const type = (value as { readonly type?: unknown } | null)?.type
  if (typeof type !== 'string') throw new Error('A message must be a JSON object with a type.')
  const schema = Object.hasOwn(schemas, type) ? schemas[type] : undefined
  if (schema === undefined) return null
  if (Check(schema, value)) return value as Messages<Schemas>
  const [, [first]] = Errors(schema, value)
  throw new Error(`The message "${type}" is not valid: ${first?.instancePath.slice(1)} ${first?.message}.`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('A message must be JSON.')
  }
}
