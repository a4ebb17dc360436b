import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText } from '../../times.ts'
import { statOf } from './entry-operations.ts'
import { folderAddress, folderOf, nameOf } from './paths.ts'

const words = texts.files

interface FileFactsProps {
  readonly path: string
  readonly page: PageContext
  /** More facts, as terms and descriptions. */
  readonly children?: ComponentChildren
}

/** Facts about a file, beside its content. */
export function FileFacts({ path, page, children }: FileFactsProps): VNode {
  const stat = useSignal<Awaited<ReturnType<typeof statOf>>>(null)
  useLayoutEffect(() => {
    statOf(page, path)
      .then((answer) => {
        stat.value = answer
      })
      // Its content says what is wrong.
      .catch(() => {})
  }, [path])
  const folder = folderOf(path)
  return html`<h3>${words.details}</h3>
    <dl>
      <dt>${words.name}</dt>
      <dd><bdi>${shownName(nameOf(path))}</bdi></dd>
      <dt>${words.inFolder}</dt>
      <dd><a class="alone" href=${folderAddress(folder)}><bdi>${folder === '/' ? words.home : shownName(folder)}</bdi></a></dd>
      ${
        stat.value &&
        html`<dt>${words.size}</dt>
          <dd>${bytesText(stat.value.size)}</dd>
          <dt>${words.changed}</dt>
          <dd><time dateTime=${stat.value.modified}>${dateText(stat.value.modified)}</time></dd>`
      }
      ${children}
    </dl>`
}
