import { type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import { devicesAnswer, success } from '../../protocol/bodies.ts'
import type { Devices } from './devices.ts'

interface DeviceConnections {
  /** Whether a device is connected. */
  readonly isConnected: (userUuid: string, deviceId: string) => boolean
  /** Called when a device was removed. */
  readonly onRemoved: (userUuid: string, deviceId: string) => void
}

/** Registers `/api/sync/devices`. */
export function deviceRoutes(
  app: RoutesApp,
  devices: Devices,
  { isConnected, onRemoved }: DeviceConnections,
): void {
  const config = { scope: 'files:read' }
  app.get(
    '/api/sync/devices',
    {
      config,
      schema: {
        operationId: 'listDevices',
        summary: 'List your devices that synchronize files',
        response: { 200: devicesAnswer },
      },
    },
    async (request) => {
      const { uuid } = userOf(request)
      return {
        devices: devices.list(uuid).map(({ id, name, createdAt, seenAt }) => ({
          id,
          name,
          createdAt: createdAt.toISOString(),
          seenAt: seenAt.toISOString(),
          connected: isConnected(uuid, id),
        })),
      }
    },
  )
  app.delete(
    '/api/sync/devices/:id',
    {
      config,
      schema: {
        operationId: 'removeDevice',
        summary: 'Remove a device, and close its connection',
        description: 'The files on the device stay. An API token removes only devices that it made.',
        params: Type.Object({ id: Type.String({ maxLength: 100 }) }),
        response: { 200: success },
      },
    },
    async (request) => {
      const user = userOf(request)
      const { uuid: userUuid, username } = user
      const { id: device, name } = devices.of(user, request.params.id)
      devices.remove(device)
      const event = { event: 'device-removed', ip: request.ip, user: username, userUuid, device, name }
      request.log.info(event, 'A device was removed.')
      onRemoved(userUuid, device)
      return { success: true }
    },
  )
}
