import { Type } from '@nodekeep/plugin-sdk'
import { refusalReason } from '../pictures/refused-picture.ts'

const time = Type.String({ format: 'date-time' })
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(type: T, description = '') =>
  Type.Union([type, Type.Null()], description === '' ? {} : { description })

const kind = Type.Union([Type.Literal('read'), Type.Literal('drop'), Type.Literal('both')], {
  description:
    'Guests `read`, upload without seeing anything (`drop`), or do `both`, and see the files of other guests. A file can only be read.',
})

const wishes = {
  expires: Type.Optional(Type.String({ format: 'date-time', description: 'Default: in 30 days.' })),
  maxBytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Bytes that guests may upload. Default: 10 GiB.',
    }),
  ),
  maxFiles: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Files that guests may upload. Default: 1,000.',
    }),
  ),
  keepMetadata: Type.Optional(
    Type.Boolean({ description: 'Whether pictures keep places and camera data. Default: false.' }),
  ),
  askSender: Type.Optional(
    Type.Boolean({ description: 'Whether guests who upload are asked for their name. Default: false.' }),
  ),
}
const password = Type.String({ minLength: 1, maxLength: 200 })

/** The body of a new link. */
export const newShare = Type.Object(
  {
    path: Type.String({ description: 'Absolute path, such as "/photos/2026".' }),
    kind,
    password: Type.Optional(password),
    ...wishes,
  },
  { additionalProperties: false },
)

/** The body of a change. */
export const shareChange = Type.Object(
  {
    kind: Type.Optional(kind),
    password: Type.Optional(orNull(password, '`null` for none.')),
    ...wishes,
    reopen: Type.Optional(
      Type.Literal(true, {
        description: 'Lets a link work again whose file or folder was gone, and is back.',
      }),
    ),
    newAddress: Type.Optional(Type.Literal(true, { description: 'The former address ends at once.' })),
  },
  { additionalProperties: false },
)

const shareFields = {
  id: Type.String(),
  path: orNull(Type.String(), 'Where it is now; null if it is gone.'),
  name: Type.String(),
  type: Type.Union([Type.Literal('file'), Type.Literal('directory')]),
  kind,
  created: time,
  expires: time,
  state: Type.Union(
    [Type.Literal('open'), Type.Literal('expired'), Type.Literal('gone'), Type.Literal('back')],
    {
      description:
        '`gone`: the file or folder is deleted, and the link is closed. `back`: it is there again, and the link is closed until its maker opens it again.',
    },
  ),
  password: Type.Boolean({ description: 'Whether the link has a password.' }),
  keepMetadata: Type.Boolean(),
  askSender: Type.Boolean(),
  maxBytes: orNull(Type.Integer(), 'Of uploads; null if guests upload nothing.'),
  maxFiles: orNull(Type.Integer(), 'Of uploads; null if guests upload nothing.'),
  dropped: Type.Object(
    { files: Type.Integer(), bytes: Type.Integer() },
    { description: 'Uploads so far. They count toward the limits, also when they were deleted.' },
  ),
  used: Type.Object({
    last: orNull(time),
    visits: Type.Integer(),
    downloads: Type.Integer(),
    uploads: Type.Integer(),
    bytes: Type.Integer({ description: 'Bytes that guests downloaded and uploaded.' }),
  }),
}

export const shareView = Type.Object(shareFields)

const reach = {
  reach: Type.Union([Type.Literal('everywhere'), Type.Literal('network'), Type.Literal('machine')], {
    description: 'From where the address of the node can be reached.',
  }),
  note: orNull(Type.String(), 'A sentence for the maker if others cannot reach the address.'),
}

export const madeShare = Type.Object({
  id: Type.String(),
  url: Type.String({ description: 'The address. Only its hash is stored, so it is told once.' }),
  ...reach,
  share: shareView,
})

export const changedShare = Type.Object({
  url: orNull(Type.String(), 'The new address, if there is one.'),
  ...reach,
  share: shareView,
})

export const shareList = Type.Object({
  shares: Type.Array(shareView, { description: 'The newest first.' }),
  defaultDays: Type.Integer({ description: 'Days for which a link works by default.' }),
  maxDays: Type.Integer({ description: 'Most days for which a link may work.' }),
  ...reach,
})

export const sentPictureView = Type.Object({
  picture: orNull(
    Type.Object({
      path: Type.String(),
      refused: orNull(refusalReason, 'Null for a picture that is sent.'),
    }),
    'Null if there is none.',
  ),
})

export const allShares = Type.Object({
  shares: Type.Array(
    Type.Object({
      ...shareFields,
      user: Type.Object({ uuid: Type.String(), username: Type.String() }),
    }),
    { description: 'The newest first.' },
  ),
})

export const useList = Type.Object({
  uses: Type.Array(
    Type.Object({
      kind: Type.Union([Type.Literal('visit'), Type.Literal('download'), Type.Literal('upload')]),
      at: time,
      network: Type.String({ description: 'The network of the address, such as "203.0.113.0/24".' }),
      times: Type.Integer({ description: 'Visits or downloads from this network within an hour.' }),
      bytes: Type.Integer(),
      name: orNull(Type.String(), 'The name of an uploaded file, as the guest sent it.'),
      sender: orNull(Type.String(), 'The name that the guest gave. Nothing proves it.'),
    }),
    { description: 'The last ones, the newest first.' },
  ),
})
