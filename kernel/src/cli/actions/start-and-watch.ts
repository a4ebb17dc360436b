import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ChildNode, listenForStop } from '@nodekeep/plugin-sdk/supervision'
import { exitCodes } from '../../node.ts'
import { argumentsOf, type ConfigurationOptions } from '../common/configuration-options.ts'
import { printLines } from '../common/print-lines.ts'
import { SourceWatch } from './source-watch.ts'

/** Requests of a node that starts again have this time to end, in milliseconds. */
const patienceMs = 1000

/** A node that has not ended after this time is killed, in milliseconds. A plugin in work may keep its event loop busy. */
const graceMs = 10_000

/** A node that ends with the command is killed after this time, in milliseconds. Its requests have the time of the configuration. */
const stopMs = 60_000

const command = fileURLToPath(new URL('../../../bin/nodekeep.js', import.meta.url))

/**
 * `nodekeep start --watch`: runs the node in a process of its own. When a source has changed, it stops the node and starts another one. A
 * node that has ended, such as one that cannot start, is started again at the next change.
 */
export async function startAndWatch(options: ConfigurationOptions): Promise<never> {
  let node: ChildNode | null = null
  const stopSignals = listenForStop(() => node?.kill())
  const stopped = stopSignals.first.then(() => null)
  const sources = new SourceWatch(options, tell)
  for (;;) {
    const changed = sources.nextChange()
    await sources.follow()
    node = startProcess(options)
    let reason = await Promise.race([stopped, changed, node.ended])
    if (typeof reason === 'object' && reason !== null && reason.code !== exitCodes.restart) {
      tell('The node has ended. It starts again at the next change. Ctrl+C ends the command.')
      reason = await Promise.race([stopped, changed])
    }
    if (reason === null) {
      node.send({ nodekeep: 'stop', patienceMs: 0 })
      await node.endsWithin(stopMs)
      process.exit(exitCodes.stopped)
    }
    if (typeof reason === 'string') tell(`${reason} has changed. The node starts again.`)
    node.send({ nodekeep: 'stop', patienceMs })
    await node.endsWithin(patienceMs + graceMs)
  }
}

function startProcess(options: ConfigurationOptions): ChildNode {
  const child = fork(command, ['start', '--watched', ...argumentsOf(options)], {
    // Two processes cannot wait for a debugger at one port.
    execArgv: process.execArgv.filter((option) => !option.startsWith('--inspect')),
  })
  return new ChildNode(child, () => {})
}

function tell(line: string): void {
  printLines([`nodekeep: ${line}`], process.stderr)
}
