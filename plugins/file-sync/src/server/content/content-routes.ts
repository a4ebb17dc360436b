import { clientSignal, NodekeepError, type RoutesApp, userOf } from '@nodekeep/plugin-sdk'
import { blocksQuery, contentAnswer, hashesAnswer, hashesRequest } from '../../protocol/bodies.ts'
import type { Contents } from './contents.ts'

/** Milliseconds after which a request for hashes answers with those that are known. */
const answerMs = 20_000

/** Registers `POST /api/sync/hashes` and `GET /api/sync/blocks`. */
export function contentRoutes(app: RoutesApp, contents: Contents): void {
  const config = { scope: 'files:read', answersLate: true }

  app.post(
    '/api/sync/hashes',
    {
      config,
      schema: {
        operationId: 'hashFiles',
        summary: 'Get the SHA-256 of files, in given revisions',
        body: hashesRequest,
        response: { 200: hashesAnswer },
      },
    },
    async (request, reply) => {
      const { uuid } = userOf(request)
      const signal = clientSignal(reply)
      return contents.inTurn(uuid, async () => {
        const end = performance.now() + answerMs
        const hashes = []
        const { files, fresh = false } = request.body
        for (const file of files) {
          const sha256 = await contents.sha256Of(uuid, file, { isFresh: fresh, signal })
          hashes.push({ ...file, sha256 })
          if (performance.now() > end) break
        }
        return { hashes }
      })
    },
  )

  app.get(
    '/api/sync/blocks',
    {
      config,
      schema: {
        operationId: 'listBlocks',
        summary: 'Get the SHA-256 and the blocks of a file, in a given revision',
        querystring: blocksQuery,
        response: { 200: contentAnswer },
      },
    },
    async (request, reply) => {
      const { uuid } = userOf(request)
      const signal = clientSignal(reply)
      const content = await contents.inTurn(uuid, () => contents.contentOf(uuid, request.query, signal))
      if (content === null) {
        throw new NodekeepError(
          'PRECONDITION_FAILED',
          'The file does not have this revision any more. List its folder again.',
        )
      }
      return { ...content, blocks: [...content.blocks] }
    },
  )
}
