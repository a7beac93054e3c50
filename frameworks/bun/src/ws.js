// `/ws`: every message goes back as it came.

export const websocket = {
  perMessageDeflate: false,
  maxPayloadLength: 16 << 20,
  idleTimeout: 120,
  message(socket, message) {
    socket.send(message);
  },
};
