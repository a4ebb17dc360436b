import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { bytesText } from '../../bytes-text.ts'
import { Refusal } from '../../refusal.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { sendFile } from './send-file.ts'
import type { Work } from './tasks.ts'

/** The import of what a CAR file contains into a folder, under the name of the CAR file. A message tells what has come. */
export function carImport(page: PageContext, folder: string, file: File): Work {
  return {
    title: texts.files.importing(file.name),
    path: folder,
    ifExists: 'ask',
    source: file,
    isQuiet: false,
    async attempt({ headers, signal, progress, answered }) {
      const query = new URLSearchParams({ path: folder, name: file.name.replace(/\.car$/i, '') || file.name })
      const answer = await sendFile(file, {
        method: 'POST',
        address: `/api/ipfs/import?${query}`,
        headers: { ...headers, 'content-type': 'application/vnd.ipld.car' },
        signal,
        progress,
        answered,
      })
      if (answer instanceof Refusal) return answer
      const { path, files, bytes, symlinks } = JSON.parse(answer) as NodeAnswers['POST /api/ipfs/import']
      page.notice(texts.files.imported({ files, bytes: bytesText(bytes), path: shownName(path), symlinks }))
      return null
    },
    isDone: async () => false,
  }
}
