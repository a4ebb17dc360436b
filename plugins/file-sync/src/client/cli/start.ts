import { oldestNode } from '../../protocol/oldest-node.ts'

/** The parts of a package.json that the command needs. */
interface Manifest {
  readonly version: string
  readonly engines: { readonly node: string }
}

/** Runs the command `nodekeep-sync` if this Node can. An older Node cannot load the rest of the command, so it is loaded later. */
export async function start({ version, engines }: Manifest): Promise<void> {
  const needed = oldestNode(engines)
  if (Number.parseInt(process.versions.node, 10) < needed) {
    const advice = 'See https://nodejs.org/download.'
    console.error(`nodekeep-sync needs Node ${needed} or newer; this is ${process.version}. ${advice}`)
    process.exitCode = 1
    return
  }
  const { run } = await import('./program.ts')
  await run(process.argv.slice(2), version)
}
