import { type NodeAddress, nameOf, type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'
import type { ListedPublication, Publication } from './publications.ts'
import type { Publisher } from './publisher.ts'

const time = Type.String({ format: 'date-time' })
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) =>
  Type.Union([type, Type.Null()])

const content = {
  id: Type.String(),
  path: Type.String({ description: 'Absolute path, such as "/photos/cat.jpg".' }),
  size: Type.Integer({ description: 'Bytes of content.' }),
  files: Type.Integer({ description: 'Files in it.' }),
}
const cid = Type.String({ description: 'The address of the content, which proves it.' })
const url = Type.String({
  description:
    'Where everybody can read it: a URL with the name of a file as "filename"; if the node has no public address, its path at the node.',
})

const published = Type.Object({ ...content, cid, publishedAt: time, url })

const list = Type.Object({
  publications: Type.Array(
    Type.Object({
      ...content,
      cid: orNull(cid),
      publishedAt: orNull(time),
      url: orNull(url),
      state: Type.Union(
        [
          Type.Literal('adding'),
          Type.Literal('failed'),
          Type.Literal('published'),
          Type.Literal('changed'),
          Type.Literal('gone'),
          Type.Literal('missing'),
        ],
        {
          description:
            '"changed": the path has other content now. "gone": the path has nothing now. What was published stays in both cases. "missing": the node does not have the content any more. "failed": it could not be added.',
        },
      ),
      addedBytes: Type.Optional(
        Type.Integer({ description: 'Bytes that were added so far, with "adding".' }),
      ),
      problem: Type.Optional(Type.String({ description: 'The reason, with "failed".' })),
    }),
    { description: 'Those that are being added, those that have failed, then the newest first.' },
  ),
  bytes: Type.Integer({ description: 'Bytes that they take. What several have in common counts once.' }),
})

/** Registers `POST /publish`, `GET /publications` and `POST /withdraw` below the prefix. */
export function publishingRoutes(app: RoutesApp, publisher: Publisher, address: NodeAddress): void {
  const config = { scope: 'ipfs' }
  const urlOf = (cid: string, { path, revision }: Pick<Publication, 'path' | 'revision'>): string => {
    // Only a file has a revision. By its name, browsers show it by its type, and save it.
    const name = revision === null ? '' : `?filename=${encodeURIComponent(nameOf(path))}`
    const [origin = ''] = address.publicOrigins()
    return `${origin}/ipfs/${cid}${name}`
  }

  app.post(
    '/publish',
    {
      config: { ...config, answersLate: true },
      schema: {
        operationId: 'publishEntry',
        summary: 'Publish a file or folder',
        description:
          'Everybody can read it below the address in the answer until it is withdrawn. Later changes of the path do not change what is published. The answer comes when all of it is added. If the client leaves, the work goes on, and the list tells how it ends.',
        body: Type.Object({ path: content.path }, { additionalProperties: false }),
        response: { 200: published },
      },
    },
    async (request) => {
      const publication = await publisher.publish(userOf(request).uuid, request.body.path)
      const { cid } = publication
      request.log.info(eventOf('published', request, publication), 'A file or folder was published.')
      return {
        ...bodyOf(publication),
        cid,
        publishedAt: publication.publishedAt.toISOString(),
        url: urlOf(cid, publication),
      }
    },
  )

  app.get(
    '/publications',
    {
      config,
      schema: {
        operationId: 'listPublications',
        summary: 'List what you have published',
        response: { 200: list },
      },
    },
    async (request) => {
      const { publications, bytes } = await publisher.list(userOf(request).uuid)
      return { publications: publications.map(listed), bytes }
    },
  )

  app.post(
    '/withdraw',
    {
      config,
      schema: {
        operationId: 'withdrawPublication',
        summary: 'Withdraw what you have published',
        description:
          'Nobody can read it at its address any more. Copies that others have made stay with them.',
        body: Type.Object({ id: Type.String({ maxLength: 100 }) }, { additionalProperties: false }),
        response: { 200: Type.Object({ id: content.id }) },
      },
    },
    async (request) => {
      const { id } = request.body
      const withdrawn = await publisher.withdraw(userOf(request).uuid, id)
      request.log.info(eventOf('withdrawn', request, { ...withdrawn, id }), 'A publication was withdrawn.')
      return { id }
    },
  )

  function listed(publication: ListedPublication) {
    const { cid, publishedAt, state, addedBytes, problem } = publication
    return {
      ...bodyOf(publication),
      cid,
      publishedAt: publishedAt?.toISOString() ?? null,
      url: cid && urlOf(cid, publication),
      state,
      ...(addedBytes !== undefined && { addedBytes }),
      ...(problem !== undefined && { problem }),
    }
  }
}

function bodyOf({ id, path, size, files }: Pick<Publication, 'id' | 'path' | 'size' | 'files'>) {
  return { id, path, size, files }
}

/** Returns the fields of a line in the log. */
function eventOf(
  event: 'published' | 'withdrawn',
  request: FastifyRequest,
  { id, path, cid }: Pick<ListedPublication, 'id' | 'path' | 'cid'>,
) {
  const { username, uuid } = userOf(request)
  return { event, ip: request.ip, user: username, userUuid: uuid, publication: id, path, cid }
}
