import { type EventBus, NodekeepError, type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import type { CardLinks } from './card-links.ts'
import { CardSent } from './card-sent.ts'
import type { CardStore } from './card-store.ts'

const tags = ['hello']
const line = (maxLength: number) => Type.String({ minLength: 1, maxLength })
const greeting = Type.Object({ text: Type.String() })
const letter = Type.Object({ to: line(60), text: line(500) }, { additionalProperties: false })
const card = Type.Object({ from: Type.String(), to: Type.String(), text: Type.String() })
const stored = Type.Object({
  path: Type.String({ description: 'The path at which anyone may read the card.' }),
})

interface HelloParts {
  /** The common beginning of the routes. */
  readonly path: string
  readonly greeting: string
  readonly cards: CardStore
  readonly links: CardLinks
  readonly events: EventBus
}

export function helloRoutes(
  app: RoutesApp,
  { path, greeting: word, cards, links, events }: HelloParts,
): void {
  app.get(
    '/',
    {
      config: { access: 'public', publicReason: 'It only returns a greeting.' },
      schema: { summary: 'A greeting', tags, response: { 200: greeting } },
    },
    async ({ user }) => ({ text: `${word}, ${user?.username ?? 'stranger'}!` }),
  )

  app.post(
    '/cards',
    {
      config: { scope: 'hello:send' },
      schema: { summary: 'Store a card', tags, body: letter, response: { 201: stored } },
    },
    async (request, reply) => {
      const user = userOf(request)
      const { to, text } = request.body
      const id = await cards.add({ senderUuid: user.uuid, from: user.username, to, text })
      events.emit(CardSent, { id, senderUuid: user.uuid })
      return reply.code(201).send({ path: `${path}/cards/${links.of(id)}` })
    },
  )

  app.get(
    '/cards/:link',
    {
      config: {
        access: 'public',
        publicReason:
          'A card is for people without an account. Its link is signed and only the sender gets it.',
      },
      schema: {
        summary: 'Read a card',
        tags,
        params: Type.Object({ link: Type.String() }),
        response: { 200: card },
      },
    },
    async ({ params }) => {
      const id = links.read(params.link)
      const found = id === null ? undefined : await cards.get(id)
      if (found === undefined)
        throw new NodekeepError('NOT_FOUND', 'There is no such card, or it has expired.')
      return found
    },
  )
}
