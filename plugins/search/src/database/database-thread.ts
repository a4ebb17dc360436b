/** The thread of the databases: a search, or the words of a file, would hold up all requests otherwise. */
import { parentPort, workerData } from 'node:worker_threads'
import { isDamage, isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { OpenDatabases } from './open-databases.ts'
import type { DatabaseRequest, DatabaseSettings, FromDatabases, ToDatabases } from './protocol.ts'

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const databases = new OpenDatabases(workerData as DatabaseSettings)
const send = (message: FromDatabases) => port.postMessage(message)

port.on('message', (message: ToDatabases) => {
  if (message !== 'close') return answer(message)
  databases.close()
  port.close()
})

function answer({ id, userUuid, call, args }: DatabaseRequest): void {
  try {
    send({ id, result: perform(userUuid, call, args) })
  } catch (error) {
    send({ id, failure: { isDiskFull: isDiskFull(error), reason: String(error) } })
  }
}

function perform(userUuid: string, call: DatabaseRequest['call'], args: readonly unknown[]): unknown {
  if (call === 'erase') return databases.erase(userUuid)
  try {
    return databases.call(userUuid, call, args)
  } catch (error) {
    if (!isDamage(error)) throw error
    databases.erase(userUuid)
    send({
      warning: `The search index of the user ${userUuid} is damaged, and is made anew: ${String(error)}`,
    })
    return databases.call(userUuid, call, args)
  }
}
