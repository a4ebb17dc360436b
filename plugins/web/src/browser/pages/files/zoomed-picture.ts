import Panzoom, { type PanzoomObject } from '@panzoom/panzoom'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'

/** How many times as large as the window a picture can be. */
const largest = 8

/** The scale after a double tap. */
const tapScale = 2.5

/** The scale from which on a preview is not sharp any more. */
const originalFrom = 1.5

/** Milliseconds between two taps, and pixels between their places, at most. */
const tapMs = 350
const tapDistance = 25

/** How to zoom a picture. */
export interface Zoom extends Pick<PanzoomObject, 'zoomIn' | 'zoomOut' | 'reset'> {
  isZoomed(): boolean
}

interface ZoomedPictureProps {
  /** The addresses of the picture: a preview, then the file. Each is shown if the one before cannot be. */
  readonly addresses: readonly string[]
  readonly name: string
  /** Gets the way to zoom while the picture is shown. */
  readonly zoom?: { current: Zoom | null } | undefined
  /** Called when none of the addresses can be shown. */
  readonly onFailed: () => void
}

/** A picture as large as its place. The wheel, two fingers and a double tap zoom it; then it can be moved. */
export function ZoomedPicture({ addresses, name, zoom, onFailed }: ZoomedPictureProps): VNode {
  const at = useSignal(0)
  const image = useRef<HTMLImageElement>(null)
  const panzoom = useRef<PanzoomObject | null>(null)
  const tapped = useRef({ at: Number.NEGATIVE_INFINITY, x: 0, y: 0 })
  const pressed = useRef({ x: 0, y: 0 })
  const isZoomed = () => (panzoom.current?.getScale() ?? 1) > 1
  // Before the first frame: the browser itself would take a finger on a picture without it.
  useLayoutEffect(() => {
    const element = image.current
    if (element === null) return
    const made = Panzoom(element, {
      contain: 'outside',
      cursor: '',
      // The default would keep the event from the swipes.
      handleStartEvent: () => {},
      maxScale: largest,
      minScale: 1,
      panOnlyWhenZoomed: true,
      pinchAndPan: true,
    })
    panzoom.current = made
    // The library takes the size in the middle of a movement for the size at its end.
    const still = { animate: false }
    if (zoom !== undefined)
      zoom.current = {
        isZoomed,
        zoomIn: () => made.zoomIn(still),
        zoomOut: () => made.zoomOut(still),
        reset: () => made.reset(still),
      }
    const onZoom = () => {
      if (made.getScale() >= originalFrom) void showOriginal()
    }
    element.addEventListener('panzoomzoom', onZoom)
    return () => {
      element.removeEventListener('panzoomzoom', onZoom)
      made.destroy()
      panzoom.current = null
      if (zoom !== undefined) zoom.current = null
    }
  }, [])
  /** A picture that the browser cannot show stays a preview. */
  const showOriginal = async () => {
    const original = addresses.at(-1)
    if (at.peek() !== 0 || original === undefined || addresses.length === 1) return
    const loaded = new Image()
    loaded.src = original
    try {
      await loaded.decode()
      if (panzoom.current !== null) at.value = addresses.length - 1
    } catch {
      // The preview stays.
    }
  }
  const failed = () => {
    if (at.value + 1 < addresses.length) at.value += 1
    else onFailed()
  }
  const down = ({ clientX: x, clientY: y }: PointerEvent) => {
    pressed.current = { x, y }
  }
  const up = ({ clientX: x, clientY: y, timeStamp, isPrimary }: PointerEvent) => {
    const isTap = isPrimary && isNear(pressed.current, { x, y })
    const isSecond = isTap && timeStamp - tapped.current.at < tapMs && isNear(tapped.current, { x, y })
    tapped.current = { at: isTap && !isSecond ? timeStamp : Number.NEGATIVE_INFINITY, x, y }
    if (!isSecond) return
    if (isZoomed()) panzoom.current?.reset({ animate: false })
    else panzoom.current?.zoomToPoint(tapScale, { clientX: x, clientY: y })
  }
  return html`<div
    class="picture"
    onPointerDown=${down}
    onPointerUp=${up}
    onWheel=${(event: WheelEvent) => panzoom.current?.zoomWithWheel(event)}
  >
    <img src=${addresses[at.value]} alt=${name} draggable=${false} ref=${image} onError=${failed} />
  </div>`
}

interface Point {
  readonly x: number
  readonly y: number
}

function isNear(a: Point, b: Point): boolean {
  return Math.hypot(a.x - b.x, a.y - b.y) < tapDistance
}
