import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from './html.ts'

interface QrCodeProps {
  readonly text: string
  /** The description for people who do not see it. */
  readonly label: string
}

/** Shows a text as a QR code. Without its library, such as while the node does not answer, nothing is shown. */
export function QrCode({ text, label }: QrCodeProps): VNode | null {
  const rows = useSignal<boolean[][] | null>(null)
  useLayoutEffect(() => {
    import('./qr-modules.ts').then(
      ({ qrModules }) => {
        rows.value = qrModules(text)
      },
      () => {},
    )
  }, [text])
  if (rows.value === null) return null
  const size = rows.value.length
  const dark = rows.value.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
  // Cameras need dark on light, also in the dark scheme.
  return html`<svg class="qr" role="img" aria-label=${label} viewBox=${`0 0 ${size} ${size}`} shape-rendering="crispEdges">
    <rect width=${size} height=${size} fill="#fff" />
    <path d=${dark.join('')} fill="#000" />
  </svg>`
}
