import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { refuseAsCode } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LazyStore } from '../store/lazy-store.ts'
import type { Gateway, PublishedBlocks } from './gateway.ts'
import { nothingThere } from './nothing-there.ts'

/**
 * Registers `GET` and `HEAD /ipfs/…`.
 *
 * @param holdMs milliseconds after which an answer goes on only if its root is still published
 */
export function gatewayRoutes(
  app: RoutesApp,
  store: LazyStore,
  publications: PublishedBlocks,
  holdMs?: number,
): void {
  let gateway: Promise<Gateway> | null = null
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    refuseAsCode(request)
    if (!store.isUsed) throw nothingThere()
    gateway ??= import('./gateway.ts').then(
      (module) => new module.Gateway({ openStore: () => store.open(), publications, holdMs }),
    )
    return (await gateway).answer(request, reply)
  }
  const config = {
    access: 'public',
    publicReason:
      'Everybody may read what users publish, by the address that proves it. Answers at a time are limited for each address.',
  } as const
  const schema = {
    operationId: 'readPublished',
    summary: 'Read published content: a file, the list of a folder, or the blocks of both',
    description:
      'The path is a CID, and names of entries below it. The forms are those of IPFS gateways, also trustless ones.',
    params: Type.Object({ '*': Type.String() }),
    querystring: Type.Object({
      format: Type.Optional(Type.String({ description: '"raw" for the block, "car" for blocks as a CAR.' })),
      filename: Type.Optional(
        Type.String({ description: 'The name under which browsers save the content.' }),
      ),
      'dag-scope': Type.Optional(Type.String({ description: '"block", "entity" or "all" (the default).' })),
      'entity-bytes': Type.Optional(
        Type.String({ description: 'The bytes of a file that a CAR must have, such as "0:1023" or "-5:*".' }),
      ),
    }),
  }
  const content = { '*/*': { schema: { type: 'string', format: 'binary' } } }
  const response = {
    200: { description: 'The content.', content },
    206: { description: 'A range of the content of a file.', content },
  }
  app.get('/ipfs/*', { config, schema: { ...schema, response }, exposeHeadRoute: false }, answer)
  app.head('/ipfs/*', { config, schema }, answer)
}
