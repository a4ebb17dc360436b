import { type CommandContext, defineCommands } from '@nodekeep/plugin-sdk'
import { Bucket } from './bucket.ts'
import type { Configuration } from './configuration.ts'
import { checkConfiguration } from './server/connect.ts'
import { remedyFor } from './server/failures.ts'

/** The commands `nodekeep storage-s3 …`. They ask the server themselves, so the node may run or not. */
export default defineCommands<Configuration>({
  async probe({ id, config, output, signal }: CommandContext<Configuration>) {
    checkConfiguration(config, id)
    const bucket = new Bucket(config)
    const progress = output.progress('Trying the server')
    try {
      const { findings, conditionForm } = await bucket.probe(signal)
      progress.end()
      output.table(
        findings.map(({ promise, isKept, otherwise }) => ({
          promise,
          kept: isKept ? 'yes' : 'NO',
          otherwise: isKept ? '' : otherwise,
        })),
        'Nothing was tried.',
      )
      if (bucket.broken !== undefined)
        throw new Error('Files are not safe on this server. The node does not use it.')
      output.lines(
        conditionForm === null
          ? 'Files are safe here. Do not let a second node or another program write to the same folder.'
          : 'Files are safe here.',
      )
    } catch (error) {
      const remedy = remedyFor(error, bucket.name)
      throw remedy === null ? error : new Error(remedy, { cause: error })
    } finally {
      progress.end()
      await bucket.close()
    }
  },
})
