import { type Static, Type } from 'typebox'
import { largestBlock } from './content-blocks.ts'

/** Files in one request for hashes. */
export const mostHashes = 1000

/** Blocks of one file. */
export const mostBlocks = 32_768

/** Characters of a revision. */
export const longestRevision = 200

const path = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'Absolute path, such as "/photos/cat.jpg".',
})
const revision = Type.String({
  minLength: 1,
  maxLength: longestRevision,
  description: 'The entity tag of the file, without its quotes.',
})
export const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 in hexadecimal.' })
const time = Type.String({ format: 'date-time' })
const fileSize = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Bytes.' })

const block = Type.Object(
  { sha256, size: Type.Integer({ minimum: 1, maximum: largestBlock, description: 'Bytes.' }) },
  { additionalProperties: false },
)
const blocks = Type.Array(block, { maxItems: mostBlocks, description: 'All blocks of the file, in order.' })

/** The body of `POST /api/sync/hashes`. */
export const hashesRequest = Type.Object(
  {
    files: Type.Array(Type.Object({ path, revision }, { additionalProperties: false }), {
      minItems: 1,
      maxItems: mostHashes,
    }),
    fresh: Type.Optional(
      Type.Boolean({
        description: 'Whether the files are read again, although their hashes are known. Default: false.',
      }),
    ),
  },
  { additionalProperties: false },
)

/** Its answer. */
export const hashesAnswer = Type.Object({
  hashes: Type.Array(
    Type.Object({
      path,
      revision,
      sha256: Type.Union([sha256, Type.Null()], {
        description: 'null if the file no longer has the revision.',
      }),
    }),
    { description: 'The first files of the request, at least one. Ask again for the others.' },
  ),
})

/** `?path=…&revision=…` */
export const blocksQuery = Type.Object({ path, revision })

/** The content of a file, as blocks. */
export const contentAnswer = Type.Object({ sha256, size: fileSize, blocks })

/** The body of `POST /api/sync/uploads`. It has either `ifRevision` or `ifAbsent`. */
export const newUpload = Type.Object(
  {
    path,
    size: fileSize,
    sha256,
    blocks,
    modified: Type.Optional(
      Type.String({ format: 'date-time', description: 'The time of modification that the file gets.' }),
    ),
    ifRevision: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: longestRevision,
        description: 'The revision of the file to replace.',
      }),
    ),
    ifAbsent: Type.Optional(Type.Literal(true, { description: 'Nothing may be at the path.' })),
  },
  { additionalProperties: false },
)
export type NewUpload = Static<typeof newUpload>

/** An upload. */
export const uploadAnswer = Type.Object({
  id: Type.String(),
  path,
  size: fileSize,
  sha256,
  missing: Type.Array(Type.Integer({ minimum: 0 }), {
    description: 'The indexes of the blocks to send. Equal blocks are named once.',
  }),
  expires: Type.String({ format: 'date-time', description: 'The node forgets the upload then.' }),
})

/** The file that an upload has written. */
export const committedUpload = Type.Object({
  path,
  revision,
  size: fileSize,
  modified: time,
})

/** The devices of a user. */
export const devicesAnswer = Type.Object({
  devices: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      createdAt: time,
      seenAt: Type.String({ format: 'date-time', description: 'When it was last connected.' }),
      connected: Type.Boolean(),
    }),
  ),
})

/** The file with the client that the node offers. */
export const clientAnswer = Type.Object({
  path: Type.String({ description: 'Where the node offers it.' }),
  name: Type.String(),
  version: Type.String(),
  size: fileSize,
  sha256,
  node: Type.Integer({ description: 'The oldest major version of Node that runs it.' }),
})

/** The answer to a removal. */
export const success = Type.Object({ success: Type.Boolean() })
