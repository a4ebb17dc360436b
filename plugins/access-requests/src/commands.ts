import { answerOf, type CommandContext, defineCommands, parseWallet } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'

type OpenRequest = NodeAnswers['GET /api/access-requests']['requests'][number]

/** The commands `nodekeep access-requests …`. They ask the running node. */
export default defineCommands({
  async list({ node, output }) {
    const requests = await openRequests(await running(node))
    output.table(
      requests.map(({ username, wallet, requested }) => ({ name: username, wallet, requested })),
      'Nobody asks for admission.',
    )
  },

  async admit({ node: find, args, options, output }) {
    const node = await running(find)
    const { wallet, username: wanted } = chosen(await openRequests(node), args[0])
    const { username = wanted } = options
    const added = node.fetch('/api/users', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ wallet, username }),
    })
    const { user } = await answerOf<NodeAnswers['POST /api/users']>(added)
    await remove(node, wallet)
    output.state({ name: user.username, uuid: user.uuid, wallet })
  },

  async refuse({ node: find, args, output }) {
    const node = await running(find)
    const { wallet, username } = chosen(await openRequests(node), args[0])
    await remove(node, wallet)
    output.lines(`The request of ${username} (${wallet}) is removed.`)
  },
})

type Node = NonNullable<Awaited<ReturnType<CommandContext['node']>>>

/** @throws Error that says what to do if no node runs */
async function running(find: CommandContext['node']): Promise<Node> {
  const node = await find()
  if (node === null) throw new Error('No node runs on this data folder. Start it with "nodekeep start".')
  return node
}

async function openRequests(node: Node): Promise<readonly OpenRequest[]> {
  return (await answerOf<NodeAnswers['GET /api/access-requests']>(node.fetch('/api/access-requests')))
    .requests
}

async function remove(node: Node, wallet: string): Promise<void> {
  await answerOf(node.fetch(`/api/access-requests/${wallet}`, { method: 'DELETE' }))
}

/** Finds a request by its wallet or its name. Several people can ask for one name. */
function chosen(requests: readonly OpenRequest[], person = ''): OpenRequest {
  const address = parseWallet(person)
  const found = requests.filter(({ wallet, username }) => wallet === address || username === person)
  const [request] = found
  if (request === undefined) {
    throw new Error(`There is no request of "${person}". "nodekeep access-requests list" shows all.`)
  }
  if (found.length > 1)
    throw new Error(`${found.length} people ask for the name "${person}". Name the wallet.`)
  return request
}
