import { answerOf, defineCommands, type NodeClient, parseWallet, runningNode } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'

type OpenRequest = NodeAnswers['GET /api/access-requests']['requests'][number]

/** The commands `nodekeep access-requests …`. They ask the running node. */
export default defineCommands({
  async list(context) {
    const requests = await openRequests(await runningNode(context))
    context.output.table(
      requests.map(({ username, wallet, requested }) => ({ name: username, wallet, requested })),
      'Nobody asks for admission.',
    )
  },

  async admit(context) {
    const { args, options, output } = context
    const node = await runningNode(context)
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

  async refuse(context) {
    const { args, output } = context
    const node = await runningNode(context)
    const { wallet, username } = chosen(await openRequests(node), args[0])
    await remove(node, wallet)
    output.lines(`The request of ${username} (${wallet}) is removed.`)
  },
})

async function openRequests(node: NodeClient): Promise<readonly OpenRequest[]> {
  return (await answerOf<NodeAnswers['GET /api/access-requests']>(node.fetch('/api/access-requests')))
    .requests
}

async function remove(node: NodeClient, wallet: string): Promise<void> {
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
