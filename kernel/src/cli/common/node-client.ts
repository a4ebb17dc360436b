import { type NodeClient, NodekeepError } from '@nodekeep/plugin-sdk'
import { findRunningNode } from '../../state/running-node.ts'
import type { CommandProcess } from './command-process.ts'
import type { ConfigurationOptions } from './configuration-options.ts'
import { withIdentity } from './identity-access.ts'

/** A client of the running node, and the end of its session. */
interface OwnedNodeClient extends NodeClient, AsyncDisposable {}

/**
 * Connects to the node that runs on a data folder, with a session of its owner that ends with the client.
 *
 * @param label the name of the session in the owner's list
 * @returns `null` if no node runs there
 * @throws NodekeepError SERVICE_UNAVAILABLE while the node starts; NOT_FOUND if it has no owner
 */
export async function connectToNode(
  dataFolder: string,
  options: ConfigurationOptions,
  process: CommandProcess,
  label: string,
): Promise<OwnedNodeClient | null> {
  const running = findRunningNode(dataFolder)
  if (running === null) return null
  const { url, pid } = running
  if (url === null) {
    throw new NodekeepError(
      'SERVICE_UNAVAILABLE',
      `The node (process ${pid}) does not listen yet, or not any more. Try again in a moment.`,
    )
  }
  // The session serves the node that runs, and ends with the command.
  const access = { beforeRestore: true }
  const { token, record } = await withIdentity(
    options,
    process,
    async ({ find, issueSession }) => {
      const owner = await find(undefined)
      return issueSession({ userUuid: owner.uuid, label, expiryDays: 1 })
    },
    access,
  )
  return {
    url,
    fetch(path, init = {}) {
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${token}`)
      return fetch(new URL(path, url), { ...init, headers })
    },
    [Symbol.asyncDispose]: () =>
      withIdentity(
        options,
        process,
        async ({ userSessions }) => {
          await userSessions.endIfPresent(record.userUuid, record.id)
        },
        access,
      ),
  }
}
