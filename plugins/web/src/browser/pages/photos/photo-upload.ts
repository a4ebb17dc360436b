import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { reasonOf, request } from '../../request.ts'
import * as texts from '../../texts.ts'
import { pathIn } from '../files/paths.ts'
import type { Tasks } from '../files/tasks.ts'
import { toldOf } from '../files/told.ts'
import { upload } from '../files/upload.ts'

interface PhotoUploadProps {
  readonly page: PageContext
  readonly tasks: Tasks
}

const words = texts.photos

/** Uploads pictures into one folder, which the button names. On a phone, the button floats. */
export function PhotoUpload({ page, tasks }: PhotoUploadProps): VNode {
  const chooser = useRef<HTMLInputElement>(null)
  const take = async ({ currentTarget }: Event) => {
    const field = currentTarget as HTMLInputElement
    const files = [...(field.files ?? [])]
    field.value = ''
    try {
      await uploadInto(`/${words.folder}`, files, page, tasks)
    } catch (error) {
      page.notice(reasonOf(error), 'error')
    }
  }
  const label = words.uploadTo(words.folder)
  const choose = () => chooser.current?.click()
  return html`
    <input type="file" accept="image/*" multiple hidden ref=${chooser} onChange=${take} aria-label=${label} />
    <button type="button" class="main upload" onClick=${choose}>${icon('upload')}${label}</button>
    <button type="button" class="main icon-only floating-action" aria-label=${label} title=${label} onClick=${choose}>${icon('plus')}</button>
  `
}

/** @throws Refusal; TypeError if the node does not answer */
async function uploadInto(
  folder: string,
  files: readonly File[],
  page: PageContext,
  tasks: Tasks,
): Promise<void> {
  const query = { path: '/', limit: '1' }
  const { maxFileSize } = await request(page, 'GET /api/files/list', { query })
  tasks.add(
    files.map((file) => upload(page, pathIn(folder, file.name), file, maxFileSize)),
    toldOf((entry) => words.uploaded(entry, words.folder)),
  )
}
