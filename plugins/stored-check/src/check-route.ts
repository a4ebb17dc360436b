import { clientSignal, type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import type { StoredCheck } from './stored-check.ts'

/** Files of one request. */
const mostFiles = 1000

const askedFile = Type.Object(
  {
    size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Bytes.' }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of the bytes, hexadecimal.' }),
    name: Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'Without folders. For the reason, and for an empty file, which has nothing else.',
    }),
  },
  { additionalProperties: false },
)

const checkedFile = Type.Object({
  state: Type.Union(
    [
      Type.Literal('stored'),
      Type.Literal('damaged'),
      Type.Literal('unreadable'),
      Type.Literal('changed'),
      Type.Literal('unlisted'),
      Type.Literal('shorter'),
      Type.Literal('other'),
      Type.Literal('absent'),
      Type.Literal('pending'),
    ],
    {
      description:
        '`stored`: a file with these bytes is here, and was read now. `damaged`: the bytes of the file that had this content differ now. `unreadable`: a file that may have it cannot be read now. `changed`: the file that had it is being changed, or was. `unlisted`: the node has not listed all files yet. `shorter` and `other`: no file has it; one of this name is shorter, or has other bytes. `absent`: none of this. `pending`: ask again for this file, the node still reads.',
    },
  ),
  path: Type.Union([Type.String(), Type.Null()], {
    description: 'The file that the state is about; null for `unlisted`, `absent` and `pending`.',
  }),
  backup: Type.Union(
    [
      Type.Object({
        created: Type.String({ format: 'date-time', description: 'The moment of its state.' }),
        tried: Type.String({ format: 'date-time', description: 'When it was tried out.' }),
      }),
      Type.Null(),
    ],
    { description: 'Of a stored file: the newest backup with its content that was tried out.' },
  ),
})

/** Registers `POST /api/files/check`. */
export function checkRoute(app: RoutesApp, check: StoredCheck): void {
  const schema = {
    operationId: 'checkStored',
    summary: 'Tell whether files are stored, by their contents',
    description:
      'Only the own files of the user count. Each file that has a content is read again before the answer says `stored`. Nothing is stored by asking. The answer comes within some 10 seconds: files that are `pending` then are asked for again.',
    body: Type.Object(
      { files: Type.Array(askedFile, { minItems: 1, maxItems: mostFiles }) },
      { additionalProperties: false },
    ),
    response: {
      200: Type.Object({
        files: Type.Array(checkedFile, { description: 'One for each file of the request, in their order.' }),
      }),
    },
  }
  app.post(
    '/api/files/check',
    { schema, config: { scope: 'files:read', answersLate: true } },
    async (request, reply) => {
      const files = await check.check(userOf(request), request.body.files, clientSignal(reply))
      return {
        files: files.map(({ state, path, backup }) => ({
          state,
          path,
          backup: backup && {
            created: backup.createdAt.toISOString(),
            tried: backup.triedAt.toISOString(),
          },
        })),
      }
    },
  )
}
