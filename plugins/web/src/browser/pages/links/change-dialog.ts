import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { Dialog } from '../../questions.ts'
import { MadeLink } from '../../sharing/made-link.ts'
import { type Share, ShareForm } from '../../sharing/share-form.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { kindOf } from '../files/entry-kind.ts'

/** How long links may work. */
type Days = Parameters<typeof ShareForm>[0]['days']

const words = texts.links

type Shown =
  | { readonly share: Share; readonly days: Days; readonly change: (terms: object) => Promise<unknown> }
  | { readonly share: Share; readonly made: Parameters<typeof MadeLink>[0]['made'] }

const shown = signal<(Shown & { close(): void }) | null>(null)

/** Offers to change a link, and resolves when the person has closed the dialog. */
export function offerChange(
  share: Share,
  days: Days,
  change: (terms: object) => Promise<unknown>,
): Promise<void> {
  return show({ share, days, change })
}

/** Shows the new address of a link. */
export function showAddress(share: Share, made: Parameters<typeof MadeLink>[0]['made']): void {
  void show({ share, made })
}

function show(what: Shown): Promise<void> {
  shown.value?.close()
  return new Promise((resolve) => {
    shown.value = {
      ...what,
      close() {
        shown.value = null
        resolve()
      },
    }
  })
}

/** Shows the link that is changed, or its new address. */
export function ChangeDialog({ page }: { readonly page: PageContext }): VNode | null {
  const open = shown.value
  // A page that ends takes its dialog along.
  useLayoutEffect(() => () => shown.value?.close(), [])
  if (open === null) return null
  const { share, close } = open
  const { name, type } = share
  if ('made' in open) {
    return html`<${Dialog} key="address" title=${texts.files.of(words.title, shownName(name))} onClose=${close}>
      <${MadeLink} made=${open.made} page=${page}><button type="button" onClick=${close}>${texts.close}</button><//>
    <//>`
  }
  const { days, change } = open
  const agree = async (terms: object) => {
    await change(terms)
    page.notice(words.changed)
    close()
  }
  const subject = {
    path: share.path,
    type,
    hasPictures: ['folder', 'picture'].includes(kindOf({ name, type })),
  }
  return html`<${Dialog} key=${share.id} title=${texts.files.of(words.change, shownName(name))} onClose=${close}>
    <${ShareForm} subject=${subject} share=${share} days=${days} agree=${words.save} onAgree=${agree} onCancel=${close} page=${page} />
  <//>`
}
